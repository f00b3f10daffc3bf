// The commands: one function for each file that adds some. See frame.h.
#pragma once

#include "cli/frame.h"

namespace pawl::cli {

void add_start_command(Frame& frame);
void add_signal_command(Frame& frame);
void add_promise_commands(Frame& frame);  // resolve, reject
void add_verb_commands(Frame& frame);     // cancel, terminate, resume, pause, unpause, delete
void add_list_commands(Frame& frame);     // list, count
void add_result_command(Frame& frame);
void add_describe_command(Frame& frame);
void add_history_command(Frame& frame);
void add_state_command(Frame& frame);
void add_why_command(Frame& frame);
void add_export_command(Frame& frame);
void add_import_command(Frame& frame);
void add_fork_command(Frame& frame);
void add_retry_command(Frame& frame);
void add_store_commands(Frame& frame);  // tasks, stats, workers
void add_check_command(Frame& frame);
void add_db_command(Frame& frame);
void add_migrate_command(Frame& frame);
void add_conform_command(Frame& frame);
void add_bench_command(Frame& frame);
void add_completion_commands(Frame& frame);  // completion, __complete
void add_man_command(Frame& frame);

}  // namespace pawl::cli
