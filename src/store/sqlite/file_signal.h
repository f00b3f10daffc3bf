// A ChangeSignal between processes: a file beside the database that is written to. Watchers sleep
// in the kernel until that happens.
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
