/* Writes an HDF5 file with rows of 256 numbers. Usage: make_rows FILE.h5 ROWS: dataset /samples,
 * float32[ROWS][256], deflated; row N has the mean N. */
#include <hdf5.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    if (argc < 3) return 64;
    const hsize_t shape[2] = {strtoull(argv[2], NULL, 10), 256};
    const hsize_t chunk[2] = {shape[0] < 64 ? shape[0] : 64, 256};
    float* const numbers = malloc(shape[0] * shape[1] * sizeof(float));
    if (numbers == NULL) return 1;
    for (hsize_t row = 0; row < shape[0]; ++row)
        for (hsize_t column = 0; column < shape[1]; ++column)
            numbers[row * shape[1] + column] =
                (float)row + (column % 2 == 0 ? 1.0f : -1.0f) * (float)(column / 2);
    const hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(2, shape, NULL);
    const hid_t layout = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(layout, 2, chunk);
    H5Pset_deflate(layout, 4);
    const hid_t dataset =
        H5Dcreate2(file, "samples", H5T_IEEE_F32LE, space, H5P_DEFAULT, layout, H5P_DEFAULT);
    const int failed = H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers) < 0;
    H5Dclose(dataset);
    H5Pclose(layout);
    H5Sclose(space);
    free(numbers);
    return H5Fclose(file) < 0 || failed;
}
