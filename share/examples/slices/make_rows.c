/* Writes an HDF5 file with rows of 256 numbers. Usage: make_rows FILE.h5 ROWS [FIRST]: dataset /samples,
 * float32[ROWS][256], deflated; row N has the mean FIRST + N (FIRST: 0). */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

enum { width = 256, rows_at_once = 4096 };
static float numbers[rows_at_once][width];
static const hsize_t most = 16000000; /* integers of float32 are exact up to 2^24 */

static int write_rows(hid_t dataset, hid_t space, hsize_t begin, hsize_t rows, hsize_t first) {
    for (hsize_t row = 0; row < rows; ++row)
        for (int column = 0; column < width; ++column)
            numbers[row][column] =
                (float)(first + begin + row) + (column % 2 == 0 ? 1.0f : -1.0f) * (float)(column / 2);
    const hsize_t start[2] = {begin, 0};
    const hsize_t shape[2] = {rows, width};
    const hid_t memory = H5Screate_simple(2, shape, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, shape, NULL);
    const int failed = H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, numbers) < 0;
    H5Sclose(memory);
    return failed;
}

int main(int argc, char** argv) {
    if (argc < 3) return 64;
    const hsize_t shape[2] = {strtoull(argv[2], NULL, 10), width};
    const hsize_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    if (shape[0] == 0 || shape[0] > most || first > most - shape[0]) {
        fprintf(stderr, "make_rows: ROWS is at least 1, and FIRST + ROWS at most 16,000,000\n");
        return 64;
    }
    const hsize_t chunk[2] = {shape[0] < 64 ? shape[0] : 64, width};
    const hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(2, shape, NULL);
    const hid_t layout = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(layout, 2, chunk);
    H5Pset_deflate(layout, 4);
    const hid_t dataset =
        H5Dcreate2(file, "samples", H5T_IEEE_F32LE, space, H5P_DEFAULT, layout, H5P_DEFAULT);
    int failed = dataset < 0;
    for (hsize_t row = 0; row < shape[0] && !failed; row += rows_at_once)
        failed = write_rows(dataset, space, row,
                            shape[0] - row < rows_at_once ? shape[0] - row : rows_at_once, first);
    H5Dclose(dataset);
    H5Pclose(layout);
    H5Sclose(space);
    return H5Fclose(file) < 0 || failed;
}
