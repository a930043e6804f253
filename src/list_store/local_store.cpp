#include "list_store/list_store.h"
