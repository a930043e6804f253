#include "marked_list/marked_line.h"
