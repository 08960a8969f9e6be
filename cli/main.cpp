#include "cli/commands.h"

int main(int argc, char** argv) { return tokitai::cli::run_command(argc, argv); }
