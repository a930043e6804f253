#include <gtest/gtest.h>

#include "shared_list/text/list_views.h"
#include "shared_list/text/rehearsal.h"

namespace {

using namespace wq::shared_list::text;

Document list_of(const std::string& text) {
    return Document::read(text).value();
}

// The document's practical example.
const std::string practical =
    "cd ~/playground/models/resnet_family #!\n"
    "cd resnet34; train_model #:mygroup1\n"
    "cd resnet50; train_model\n"
    "cd resnet101; train_model #@2\n"
    "\n"
    "cd ../mbnet_family #!\n"
    "cd mbnetv1; train_model\n"
    "\n"
    "cd ../resnet_family #!\n"
    "cd resnet34; deploy_model #:mygroup1\n"
    "cd resnet34; test_model_on dataset1 #+mygroup1\n"
    "cd resnet34; test_model_on dataset2 #+mygroup1\n"
    "cd resnet34; report_test_result #:mygroup1\n";

TEST(GroupGraph, IsThatOfThePracticalExample) {
    EXPECT_EQ(graph_text(group_graph(list_of(practical))),
              "line 2  #:mygroup1  cd resnet34; train_model #:mygroup1\n"
              "line 10  #:mygroup1  cd resnet34; deploy_model #:mygroup1\n"
              "    after 2\n"
              "line 11-12  #+mygroup1  cd resnet34; test_model_on dataset1 #+my... (and 1 more)\n"
              "    after 10\n"
              "line 13  #:mygroup1  cd resnet34; report_test_result #:mygrou...\n"
              "    after 10 11-12\n");
}

TEST(GroupGraph, IsWrittenAsDot) {
    EXPECT_EQ(graph_dot(group_graph(list_of("echo \"a\" #:g\nb #:g\n")), "list"),
              "digraph \"list\" {\n  rankdir=LR;\n  node [shape=box];\n"
              "  n0 [label=\"1: echo \\\"a\\\" #:g\"];\n  n1 [label=\"2: b #:g\"];\n  n0 -> n1;\n}\n");
}

TEST(GroupGraph, ShowsBarriers) {
    EXPECT_EQ(graph_text(group_graph(list_of("a\nb\n#:\nc #+g\nd\n"))),
              "line 1-2  -  a (and 1 more)\nline 3  #:  #:\n    after 1-2\nline 4  #+g  c #+g\n    after "
              "3\nline 5  -  "
              "d\n    after 3\n");
    EXPECT_EQ(graph_text(group_graph(list_of("a\nb\nc\n"))), "");
}

TEST(Rehearsal, IsThatOfThePracticalExample) {
    const Document list = list_of(practical);
    EXPECT_EQ(workers_named(list), 3U);
    EXPECT_EQ(rehearsal_text(list, rehearse(list, 3)), R"(  STEP  WORKER    LINE  COMMAND
     1       0       1  cd ~/playground/models/resnet_family #!
     1       0       2  cd resnet34; train_model #:mygroup1
     1       1       1  cd ~/playground/models/resnet_family #!
     1       1       3  cd resnet50; train_model
     1       2       1  cd ~/playground/models/resnet_family #!
     1       2       4  cd resnet101; train_model #@2
     2       0       6  cd ../mbnet_family #!
     2       0       7  cd mbnetv1; train_model
     2       1       6  cd ../mbnet_family #!
     2       1       9  cd ../resnet_family #!
     2       1      10  cd resnet34; deploy_model #:mygroup1
     2       2       6  cd ../mbnet_family #!
     2       2       9  cd ../resnet_family #!
     3       0       9  cd ../resnet_family #!
     3       0      11  cd resnet34; test_model_on dataset1 #+mygroup1
     3       1      12  cd resnet34; test_model_on dataset2 #+mygroup1
     4       0      13  cd resnet34; report_test_result #:mygroup1
)");
}

TEST(Rehearsal, SaysWhatNeverRuns) {
    const Document list =
        list_of("a\nexit #!#@1\nnewtask=\"~/tasklist2.sh\" #!#@2\njumpto=~/t3 #!\nb\nc #@7\nd #@x\n");
    EXPECT_EQ(rehearsal_text(list, rehearse(list, 3)), R"(  STEP  WORKER    LINE  COMMAND
     1       0       1  a
     1       1       2  exit #!#@1
     1       2       3  newtask="~/tasklist2.sh" #!#@2
     2       0       4  jumpto=~/t3 #!
worker 1 leaves at line 2
worker 2 leaves at line 3, to ~/tasklist2.sh
worker 0 leaves at line 4, to ~/t3
line 5 never runs: the workers that could run it leave at line 2
line 6 never runs: it needs worker 7, and the last one is 2
line 7 never runs: a '#@' needs the number of a worker, such as #@2
)");
}

TEST(StatusTable, ShowsWhatRunsFailedAndWaits) {
    const Document list = list_of(
        "#LASTWORKER 1\n#a # worker 0 # (07-28 15:52:29 ... 07-28 15:52:33) #ok\n#b #:g # worker 0 # (07-28 "
        "15:52:33 ...\nc # worker 1 # (07-28 15:52:29 ... 07-28 15:52:33) #error3\nd #:g\ne #@4\nf\ng\nh\n"
        "# worker 0: myspace 100.122.27.103  (07-28 15:52:28)\n");
    EXPECT_EQ(status_table(list, "tasks.sh", {{0, "12 s ago"}}, 4),
              R"(tasks.sh: 1 done, 1 running, 1 failed, 5 waiting
LINE  STATE    WHERE OR WHY                      COMMAND
3     running  on worker 0 since 07-28 15:52:33  b #:g
4     failed   on worker 1 (exit 3)              c
5     waiting  for line 3 (group g)              d #:g
6     waiting  for worker 4                      e #@4
7     waiting  for a worker                      f
8     waiting  for a worker                      g
... and 1 more lines that wait
WORKER  NAME                    RUNNING  LAST SIGN
0       myspace 100.122.27.103  1        12 s ago
)");
}

TEST(Typos, AreTagsThatDoNothing) {
    EXPECT_EQ(likely_typos(list_of("echo a #+nog\necho b #+nog\necho c #:g\necho d # :grp\necho e # @1\n"
                                   "cd x # !\n#echo f #+g # worker 0 # (07-28 15:52:29 ...\n")),
              (std::vector<std::string>{"line 1: #+nog waits for nothing, since no line has #:nog",
                                        "line 4: '# :grp' is a comment; the tag is '#:grp', without a blank",
                                        "line 5: '# @1' is a comment; the tag is '#@1', without a blank",
                                        "line 6: '# !' is a comment; the tag is '#!', without a blank"}));
    EXPECT_TRUE(
        likely_typos(list_of("a # :-) a smile\nb # one !\nc '# :g'\n# !\nd #+g\ne #:g\nf #:\n")).empty());
}

}  // namespace
