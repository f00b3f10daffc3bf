// What operations will ask for, read and locked in one round trip before they run: first workers,
// then runs, then tasks, each in order of their keys, so that those who lock many of them do not
// wait for one another in a circle. Whatever is left out is read when it is asked for.
#pragma once

#include <span>

#include "base/result.h"
#include "store/postgres/inbox_set.h"
#include "store/postgres/run_set.h"
#include "store/postgres/session.h"
#include "store/postgres/side_sets.h"
#include "store/postgres/task_set.h"
#include "store/store.h"

namespace pawl::store::pg {

struct Sets {
  Session& session;
  RunSet& runs;
  InboxSet& inboxes;
  TaskSet& tasks;
  WorkerSet& workers;
};

// Sends nothing if there is nothing to ask for. False: others have come first, and something that
// will be needed is not locked.
Result<bool> prefetch(std::span<const Op> ops, const Sets& sets);

}  // namespace pawl::store::pg
