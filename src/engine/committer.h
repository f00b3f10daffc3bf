// Committer: gathers what is to be written and hands it to the store in batches: while one batch
// commits, the next ones grow. Used on the loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/environment.h"
#include "engine/job.h"
#include "store/store.h"

namespace pawl::engine {

class Committer {
 public:
  // Operations of one batch: what comes at once by the million is written bit by bit.
  static constexpr std::size_t kBatchMax = 4096;

  // Called on the loop, in order of submission. Ok: what came of it is in the operation. Error:
  // nothing was done.
  using Done = OnceCall<Result<void>, store::Op&>;

  Committer(store::Store& store, Environment& environment) : store_(store), env_(environment) {}

  template <class Op>
  void submit(Op&& op, Done done) {
    pending_->ops.emplace_back(std::move(op));
    pending_->dones.push_back(std::move(done));
    if (pending_->ops.size() == kBatchMax) {
      full_.push_back(take_pending());
    }
    submitted();
  }
  // False: nothing is to be written, and no job refers to this.
  bool is_busy() const { return in_flight_ || flush_posted_ || has_pending(); }
  // Any thread.
  std::uint64_t batches() const { return batches_; }

 private:
  struct Batch {
    std::vector<store::Op> ops;
    std::vector<Done> dones;
    std::vector<Result<void>> results;

    void clear() {
      ops.clear();
      dones.clear();
      results.clear();
    }
  };

  bool has_pending() const { return !full_.empty() || !pending_->ops.empty(); }
  std::unique_ptr<Batch> take_pending() {
    return std::exchange(pending_,
                         spare_ != nullptr ? std::move(spare_) : std::make_unique<Batch>());
  }
  bool are_many() const;
  bool is_half() const;
  void submitted();
  void flush_or_wait();
  void flush(bool is_last_act);
  void write(Batch& batch);
  void finish(std::unique_ptr<Batch> batch);
  void tell(std::unique_ptr<Batch> batch);

  store::Store& store_;
  Environment& env_;
  std::deque<std::unique_ptr<Batch>> full_;  // Before `pending_`.
  std::unique_ptr<Batch> pending_ = std::make_unique<Batch>();
  std::unique_ptr<Batch> spare_;  // Empty: kept for its memory.
  bool flush_posted_ = false;
  bool in_flight_ = false;
  std::size_t seen_ = 0;  // That many were there when more was waited for.
  // Sizes: those runs go in step.
  std::size_t last_batch_ = 0;
  std::size_t batch_before_ = 0;
  std::atomic<std::uint64_t> batches_ = 0;
};

}  // namespace pawl::engine
