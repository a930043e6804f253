#include "node/launcher/launcher_program.h"

int main(int argc, char** argv) {
    return wq::launcher::launcher_program(argc, argv);
}
