/* A module of the C headers, as those are made that CCTools has for other languages. */
%module cwork_queue

%include carrays.i
%array_functions(struct rmsummary *, rmsummayArray);

%{
#include "int_sizes.h"
#include "timestamp.h"
#include "list.h"
#include "debug.h"
#include "cctools.h"
#include "rmsummary.h"
#include "work_queue.h"
%}

%typemap(in) off_t = long long int;
%newobject work_queue_status;
%ignore debug;
%ignore work_queue_cancel_all_tasks;
%ignore input_files;
%ignore output_files;

%include "stdint.i"
%include "debug.h"
%include "int_sizes.h"
%include "timestamp.h"
%include "list.h"
%include "cctools.h"
%include "rmsummary.h"
%include "work_queue.h"
%include "category.h"
