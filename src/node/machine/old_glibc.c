// Portable programs (portable_programs.cmake) are linked to this instead of glibc's _dl_find_object, which is
// new in glibc 2.35: the static unwinder of g++ 12 and later asks it for the unwind data of a function.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

#ifdef DLFO_EH_SEGMENT_TYPE
struct search {
    uintptr_t address;
    struct dl_find_object* result;
};

static int is_object(struct dl_phdr_info* object, size_t size, void* data) {
    (void)size;
    const struct search* const search = data;
    const ElfW(Phdr)* code = NULL;
    const ElfW(Phdr)* unwind_data = NULL;
    for (ElfW(Half) n = 0; n < object->dlpi_phnum; ++n) {
        const ElfW(Phdr)* const segment = &object->dlpi_phdr[n];
        const uintptr_t begin = object->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && search->address - begin < segment->p_memsz) code = segment;
        if (segment->p_type == DLFO_EH_SEGMENT_TYPE) unwind_data = segment;
    }
    if (code == NULL) return 0;
    if (unwind_data == NULL) return -1;
    const uintptr_t begin = object->dlpi_addr + code->p_vaddr;
    *search->result = (struct dl_find_object){
        .dlfo_map_start = (void*)begin,
        .dlfo_map_end = (void*)(begin + code->p_memsz),
        .dlfo_eh_frame = (void*)(object->dlpi_addr + unwind_data->p_vaddr),
    };
    return 1;
}

// Hidden: libraries keep glibc's own.
__attribute__((visibility("hidden"))) int _dl_find_object(void* address, struct dl_find_object* result) {
    struct search search = {(uintptr_t)address, result};
    return dl_iterate_phdr(is_object, &search) == 1 ? 0 : -1;
}
#endif
