#include "node/launcher/launcher_program.h"

int main(int argc, char** argv) {
    return wq::node::launcher::launcher_program(argc, argv);
}
