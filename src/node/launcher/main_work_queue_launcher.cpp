#include "node/launcher/zygote.h"

int main(int argc, char** argv) {
    return wq::node::launcher::launcher_program(argc, argv);
}
