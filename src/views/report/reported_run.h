// A run with all that its reports are made from.
#pragma once

#include "views/model/account.h"
#include "views/model/run_view.h"
#include "views/report/figures.h"

namespace wq::views::report {

struct ReportedRun {
    model::RunView run;
    RunFigures figures;
    model::Account account;
};

}  // namespace wq::views::report
