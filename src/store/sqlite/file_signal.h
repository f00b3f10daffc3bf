// A ChangeSignal between processes: a file beside the database with one counter for each store that
// is open. Who has something to tell adds to its own; watchers sleep in the kernel until a counter
// is written, and look whether it was another one's.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "store/change_signal.h"

namespace pawl::store {

// Makes the file if it is not there. watch() starts one thread. kStoreUnusable: the file cannot be
// opened.
Result<std::unique_ptr<ChangeSignal>> open_file_signal(const std::string& path);

}  // namespace pawl::store
