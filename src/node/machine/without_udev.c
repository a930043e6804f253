// Portable programs (portable_programs.cmake) are linked to this instead of libudev, which has no static
// library. hwloc asks udev for the models of disks, which we do not use, and reads /run/udev itself if
// udev_new() fails.
struct udev;
struct udev_device;

struct udev* udev_new(void) {
    return 0;
}
struct udev* udev_unref(struct udev* udev) {
    (void)udev;
    return 0;
}
struct udev_device* udev_device_new_from_subsystem_sysname(struct udev* udev, const char* subsystem,
                                                           const char* name) {
    (void)udev, (void)subsystem, (void)name;
    return 0;
}
const char* udev_device_get_property_value(struct udev_device* device, const char* key) {
    (void)device, (void)key;
    return 0;
}
struct udev_device* udev_device_unref(struct udev_device* device) {
    (void)device;
    return 0;
}
