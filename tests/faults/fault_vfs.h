// A SQLite VFS over the default one in which writing can go wrong. Every write, sync, truncation
// and deletion, of any file, is a boundary; they are counted from 1 in the order in which they
// happen in this process. Reads, locks and shared memory pass through.
//
// It can kill the process at a boundary (before anything of it is done), or let boundaries fail.
// Thread-safe.
#pragma once

#include <cstdint>

namespace pawl::faults {

inline constexpr const char* kFaultVfs = "pawl-faults";

enum class Fault : std::uint8_t {
  kIo,         // SQLITE_IOERR, nothing is written.
  kFull,       // Writes: SQLITE_FULL. What takes no space: SQLITE_IOERR.
  kTornWrite,  // Half of a write is done, then SQLITE_IOERR.
};

// Registers the VFS as kFaultVfs, once. If the environment has PAWL_FAULT_KILL_AT=N, the process
// ends by SIGKILL at boundary N. `as_default`: every database is opened by it from now on.
void register_fault_vfs(bool as_default = false);

// Boundaries passed so far.
std::uint64_t boundary_count();
void reset_boundaries();
// Boundaries `first` to `last`, counted as above, fail from now on, instead of those before.
void fail_boundaries(std::uint64_t first, std::uint64_t last, Fault fault);
void fail_nothing();
// Boundaries that have failed since fail_boundaries().
std::uint64_t failure_count();
// 0: nowhere.
void kill_at_boundary(std::uint64_t boundary);

}  // namespace pawl::faults
