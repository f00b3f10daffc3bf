// Committer: gathers what is to be written and hands it to the store in batches: while one batch
// commits, the next one grows. Used on the loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "engine/environment.h"
#include "store/store.h"

namespace pawl::engine {

class Committer {
 public:
  // Called on the loop, in order of submission. Ok: what came of it is in the operation. Error:
  // nothing was done.
  using Done = std::function<void(Result<void>, store::Op&)>;

  Committer(store::Store& store, Environment& environment) : store_(store), env_(environment) {}

  void submit(store::Op op, Done done);
  bool is_busy() const { return in_flight_ || !pending_.ops.empty(); }
  // Any thread.
  std::uint64_t batches() const { return batches_; }

 private:
  struct Batch {
    std::vector<store::Op> ops;
    std::vector<Done> dones;
    std::vector<Result<void>> results;
  };

  void flush(bool is_last_act);
  void write(Batch& batch);
  void finish(Batch& batch);

  store::Store& store_;
  Environment& env_;
  Batch pending_;
  bool flush_posted_ = false;
  bool in_flight_ = false;
  std::size_t last_batch_ = 0;
  std::atomic<std::uint64_t> batches_ = 0;
};

}  // namespace pawl::engine
