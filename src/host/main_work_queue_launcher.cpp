#include "host/launcher_program.h"

int main(int argc, char** argv) {
    return wq::host::launcher_program(argc, argv);
}
