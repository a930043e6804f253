#include "programs/slices/options.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <sstream>

#include "base/units.h"
#include "programs/command_line.h"
#include "records/journal/append_file.h"

namespace wq::programs::slices {

namespace {

constexpr std::int64_t most = std::int64_t{1} << 40;

OptionTable options_of(Options& options) {
    return {
        {group, "Options"},
        {"works,w", "FILE",
         "list of works, one on each line; blank lines and lines starting with # are skipped"},
        {"prefix", "TEXT", "text to put before each work's name", &options.slices.prefix},
        {"epochs,e", "N", "passes over the data (default: 1)"},
        {"no-shuffle", "", "keep the order of the works (default: reshuffle each epoch)"},
        {"seed", "N", "seed of the shuffle (default: random; it is printed)"},
        {"slices,n", "N",
         "cut the works into N slices in total, in proportion to their records; use at least 10 slices for "
         "each rank. Records are the rows of HDF5 datasets (FILE.h5:/path), or see the next options"},
        {"slices-per-work", "N", "cut each work into N slices"},
        {"lines", "", "treat works as text files, cut at line ends", &options.slices.lines},
        {"record-bytes", "N", "treat works as files of binary records of N bytes, cut between records"},
        {"delivery", "WORD", "delivery guarantee: exactly-once or at-least-once (default: exactly-once)"},
        {"retries", "N", "retry a failed command at most N times (default: 0)"},
        {"checkpoint", "FILE", "save finished slices to FILE; resume from FILE if it exists",
         &options.checkpoint},
        {"save-every", "TIME",
         "time between saves of the checkpoint; the first save is at the start (default: 60 s; 0: after each "
         "slice of rank 0)"},
        {"contact", "FILE",
         "write contact file FILE, with which workers elsewhere find the run (--join) and prove that they "
         "may join"},
        {"join", "FILE",
         "take slices over TCP from the run with contact file FILE; the run sends the records of works whose "
         "file is not here",
         &options.join.contact},
        {"wait", "TIME", "with --join: wait at most TIME for the contact file and the run (default: 60 s)"},
        {"stats", "FILE",
         "write statistics to HDF5 file FILE, with a row for each slice; work_queue_graph_log draws them"},
        {"tensorboard", "DIR", "write statistics to a TensorBoard event file in DIR"},
        {"tickets", "auto|rma|message",
         "method by which other nodes get their next slices from rank 0: a counter in rank 0's MPI window "
         "(rma), or messages (message); auto measures both at the start, and uses the counter only if it is "
         "clearly faster (default: auto)"},
        {"name", "TEXT", "name of the queue in messages and statistics (default: work_queue)",
         &options.slices.name},
        {"explain", "", "print the plan: position, epoch and name of each slice, in the order of positions"},
        {"audit", "FILE",
         "compare the statistics of an ended run with its plan; give the options of the run, too. If the run "
         "was resumed from a checkpoint, repeat --audit for each part's file",
         &options.audits},
        {"version", "", "print the version and exit"},
        {"help,h", "", "print this help and exit"},
    };
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> works;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t first = line.find_first_not_of(" \t\r");
        if (first != std::string::npos && line[first] != '#') works.push_back(line);
    }
    return works;
}

Result<Delivery> parse_delivery(const std::string& word) {
    if (word == "exactly-once") return Delivery::exactly_once;
    if (word == "at-least-once") return Delivery::at_least_once;
    return Error{ExitCode::usage, "exactly-once or at-least-once, not '" + word + "'"};
}

Result<SliceTickets> parse_tickets(const std::string& word) {
    if (word == "auto") return SliceTickets::automatic;
    if (word == "rma") return SliceTickets::rma;
    if (word == "message") return SliceTickets::message;
    return Error{ExitCode::usage, "auto, rma or message, not '" + word + "'"};
}

Result<std::uint64_t> parse_seed(const std::string& text) {
    std::uint64_t seed = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), seed);
    if (problem != std::errc() || end != text.data() + text.size())
        return Error{ExitCode::usage, "a number from 0 to 2^64 - 1, not '" + text + "'"};
    return seed;
}

Status take_numbers(const Given& given, Options& options) {
    SliceOptions& slices = options.slices;
    OptionTaker take(given);
    take("epochs", slices.num_epochs, between(1, most));
    take("seed", slices.seed, parse_seed);
    take("slices", slices.num_slices, between(1, most));
    if (given.has("slices-per-work") && slices.num_slices)
        take.check(usage_error("give --slices or --slices-per-work, not both"));
    slices.num_slices_per_work = given.has("slices-per-work");
    take("slices-per-work", slices.num_slices, between(1, most));
    take("record-bytes", slices.record_bytes, between(1, most));
    take("retries", options.retries, between(0, 1000));
    take("save-every", options.save_every, parse_duration);
    take("tickets", slices.tickets, parse_tickets);
    Duration wait = std::chrono::seconds(60);
    take("wait", wait, parse_duration);
    options.join.wait = std::chrono::duration<double>(wait).count();
    take("delivery", slices.delivery, parse_delivery);
    return take.status();
}

Status take_works(const Given& given, Options& options) {
    options.works = given.texts("work");
    if (!given.has("works")) return success();
    const auto list = records::journal::read_whole(given.text("works"));
    if (!list) return list.error();
    const std::vector<std::string> listed = lines_of(*list);
    options.works.insert(options.works.end(), listed.begin(), listed.end());
    return success();
}

Status check(const Options& options) {
    if (options.works.empty()) return usage_error("give works, or --works FILE");
    if (options.mode == Options::Mode::run && options.command.empty())
        return usage_error("give a command after '--', or --explain or --audit");
    if (options.mode != Options::Mode::run && !options.command.empty())
        return usage_error("--explain and --audit run no command");
    return success();
}

// The run that it joins has decided all else.
Status check_join(const Given& given, const Options& options) {
    constexpr const char* its_own[] = {"join", "wait", "retries"};
    for (const auto& [name, value] : given.values)
        if (std::find(std::begin(its_own), std::end(its_own), name) == std::end(its_own))
            return usage_error(name == "work" ? "--join takes no works: the run that you join has them"
                                              : "--join and --" + name +
                                                    " exclude each other: the run that "
                                                    "you join sets this option");
    if (options.join.contact.empty()) return usage_error("--join needs the name of a contact file");
    if (options.command.empty()) return usage_error("give a command after '--'");
    return success();
}

Status fill(const Given& given, Options& options) {
    using Mode = Options::Mode;
    if (given.has("help")) {
        options.mode = Mode::help;
        return success();
    }
    if (given.has("version")) {
        options.mode = Mode::version;
        return success();
    }
    if (given.has("explain")) options.mode = Mode::explain;
    if (given.has("audit")) options.mode = Mode::audit;
    if (given.has("explain") && given.has("audit")) return usage_error("give --explain or --audit, not both");
    options.slices.shuffle = !given.has("no-shuffle");
    options.slices.commit_by_hand = true;
    if (options.mode == Mode::run) {
        options.slices.summary.hdf5 = given.text("stats");
        options.slices.summary.tensorboard = given.text("tensorboard");
        options.slices.record_each = given.has("stats");
        options.slices.contact = given.text("contact");
    }
    options.slices.only_mpi_caller = true;
    options.join.commit_by_hand = true;
    if (auto done = take_numbers(given, options); !done) return done;
    if (auto done = take_works(given, options); !done) return done;
    if (given.has("join")) return check_join(given, options);
    if (given.has("wait")) return usage_error("--wait is for --join");
    if (given.has("contact") && options.mode != Mode::run)
        return usage_error("--explain and --audit have no workers, so no --contact");
    return check(options);
}

}  // namespace

Result<Options> parse_options(int argc, const char* const* argv) {
    Options options;
    const char* const* const end = argv + argc;
    const char* const* const command =
        std::find_if(argv, end, [](const char* word) { return std::strcmp(word, "--") == 0; });
    if (command != end) options.command.assign(command + 1, end);
    const auto given =
        read_options(words_of(static_cast<int>(command - argv), argv), options_of(options), "work");
    if (!given) return given.error();
    if (auto filled = fill(*given, options); !filled) return filled.error();
    return options;
}

std::string help() {
    Options none;
    return help_with(
        "Usage: work_queue_slices [OPTION]... [WORK]... -- COMMAND [ARG]...\n"
        "       work_queue_slices --join FILE [OPTION]... -- COMMAND [ARG]...\n"
        "       work_queue_slices [OPTION]... [WORK]... --explain\n"
        "       work_queue_slices [OPTION]... [WORK]... --audit FILE [--audit FILE]...\n\n"
        "Runs COMMAND once for each slice of a dataset. Under mpirun or srun, all ranks\n"
        "take slices: a rank takes the next one when its command has ended, so fast ranks\n"
        "take more. In COMMAND and ARG, the slice's name replaces {}: FILE?start=A&end=B,\n"
        "or the work. COMMAND finds the slice's parts in the variables SLICE_WORK,\n"
        "SLICE_START, SLICE_END and SLICE_EPOCH, its number in SLICE_POSITION, and the\n"
        "rank in SLICE_RANK. COMMAND reads the slice's records from stdin: the bytes of a\n"
        "file, lines, binary records, or the rows of an HDF5 dataset. If a rank is lost,\n"
        "other ranks run its slice again.\n\n",
        options_of(none),
        "\nExamples:\n"
        "  mpirun -n 8 work_queue_slices --works list.txt -- ./reader {}\n"
        "  mpirun -n 8 work_queue_slices -e 3 -n 1000 a.h5:/x b.h5:/x -- ./train {}\n"
        "  srun -n 64 work_queue_slices -w list.txt --checkpoint c.h5 -- ./reader {}\n"
        "                          submit it again to resume the run; failed slices\n"
        "                          run again\n"
        "  srun -n 64 work_queue_slices -w list.txt --contact c.json -- ./reader {}\n"
        "  work_queue_slices --join c.json -- ./reader {}\n"
        "                          on another machine: take slices of that run, too\n"
        "  work_queue_slices -w list.txt --explain | head\n"
        "  work_queue_slices -w list.txt --stats s.h5 -- wc -w\n"
        "  work_queue_slices -w list.txt --audit s.h5\n"
        "                          check that each slice was done once, and show the\n"
        "                          rank and time\n"
        "\nExit codes: 0 all commands succeeded, 1 some commands failed or an audit found\n"
        "gaps, 64 wrong options or a COMMAND that cannot be run, 65 works, lists or\n"
        "checkpoints that cannot be read, or a file that cannot be written, 69 rank 0 was\n"
        "lost or not found, 71 no processes, open files or memory left, or stdout cannot\n"
        "be written, 77 a contact file with another key.\n");
}

}  // namespace wq::programs::slices
