#include "node/machine/launch_variables.h"

#include <algorithm>
#include <iterator>

namespace wq::node::machine {

namespace {

constexpr std::string_view of_a_rank[] = {"OMPI_", "PMIX_", "PMI_",  "OPAL_",
                                          "ORTE_", "PRTE_", "HYDI_", "MPI_LOCAL"};
constexpr std::string_view of_the_user[] = {"OMPI_ALLOW_", "OMPI_MCA_", "PMIX_MCA_",
                                            "PRTE_ALLOW_", "PRTE_MCA_", "OPAL_PREFIX"};
// Settings that mpirun of Open MPI 4 or 5 gives its ranks, or MPI_Init sets: their own, and how mpirun maps
// and binds these ranks.
constexpr std::string_view of_open_mpi[] = {"OMPI_MCA_PREFIXES",
                                            "OMPI_MCA_cpu_type",
                                            "OMPI_MCA_ess",
                                            "OMPI_MCA_hwloc_base_binding_policy",
                                            "OMPI_MCA_initial_wdir",
                                            "OMPI_MCA_mca_base_component_path",
                                            "OMPI_MCA_mpi_ft_enable",
                                            "OMPI_MCA_mpi_oversubscribe",
                                            "OMPI_MCA_num_procs",
                                            "OMPI_MCA_orte_app_num",
                                            "OMPI_MCA_orte_bound_at_launch",
                                            "OMPI_MCA_orte_cpu_",
                                            "OMPI_MCA_orte_ess_",
                                            "OMPI_MCA_orte_externally_bound",
                                            "OMPI_MCA_orte_hnp_uri",
                                            "OMPI_MCA_orte_jobfam_session_dir",
                                            "OMPI_MCA_orte_launch",
                                            "OMPI_MCA_orte_local_daemon_uri",
                                            "OMPI_MCA_orte_node_regex",
                                            "OMPI_MCA_orte_num_",
                                            "OMPI_MCA_orte_parent_uri",
                                            "OMPI_MCA_orte_precondition_transports",
                                            "OMPI_MCA_orte_tmpdir_base",
                                            "OMPI_MCA_orte_top_session_dir",
                                            "OMPI_MCA_pmix",
                                            "OMPI_MCA_rmaps_base_mapping_policy",
                                            "OMPI_MCA_rmaps_base_ranking_policy",
                                            "OMPI_MCA_rmaps_ppr_",
                                            "OMPI_MCA_shmem_RUNTIME_QUERY_hint",
                                            "PMIX_MCA_mca_base_component_show_load_errors",
                                            "PMIX_MCA_psec"};

template <std::size_t N>
bool starts_with_any(std::string_view name, const std::string_view (&prefixes)[N]) {
    return std::any_of(std::begin(prefixes), std::end(prefixes),
                       [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

LaunchVariables::LaunchVariables(char* const* environment) {
    for (; environment != nullptr && *environment != nullptr; ++environment)
        of_open_mpi_ = of_open_mpi_ || std::string_view(*environment).starts_with("OMPI_COMMAND=");
}

bool LaunchVariables::has(std::string_view name) const {
    if (!starts_with_any(name, of_a_rank)) return false;
    if (!starts_with_any(name, of_the_user)) return true;
    return of_open_mpi_ && starts_with_any(name, of_open_mpi);
}

}  // namespace wq::node::machine
