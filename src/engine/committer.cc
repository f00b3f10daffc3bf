#include "engine/committer.h"

namespace pawl::engine {

namespace {

// Batches of this size are worth being split in two.
constexpr std::size_t kPipelineFrom = 16;
// Longer ones are not kept for their memory.
constexpr std::size_t kSpareMax = 4096;

// True for an error that one operation of a batch can cause for all of them.
bool is_about_one(ErrorCode code) {
  return code == ErrorCode::kLimitExceeded || code == ErrorCode::kInvalidArgument ||
         code == ErrorCode::kCorruptLog || code == ErrorCode::kInvalidState;
}

}  // namespace

void Committer::submitted() {
  if (in_flight_) {
    return;
  }
  const std::size_t in_step = last_batch_ + batch_before_;
  if (in_step >= kPipelineFrom && pending_->ops.size() * 2 >= in_step) {
    // Many runs in step: half of them commit while the others take their turns.
    flush(false);
  } else if (!flush_posted_) {
    // Behind what the loop has to do already, which may add to the batch.
    flush_posted_ = true;
    env_.post(Lane::kLoop, [this] {
      flush_posted_ = false;
      flush(true);
    });
  }
}

void Committer::flush(bool is_last_act) {
  if (in_flight_ || pending_->ops.empty()) {
    return;
  }
  in_flight_ = true;
  ++batches_;
  // It goes from lane to lane, so that what it holds is let go on the loop.
  std::unique_ptr<Batch> batch =
      std::exchange(pending_, spare_ != nullptr ? std::move(spare_) : std::make_unique<Batch>());
  batch_before_ = last_batch_;
  last_batch_ = batch->ops.size();
  Job job = [this, batch = std::move(batch)]() mutable {
    write(*batch);
    env_.hand_over(Lane::kLoop,
                   [this, batch = std::move(batch)]() mutable { finish(std::move(batch)); });
  };
  if (is_last_act) {
    env_.hand_over(Lane::kStore, std::move(job));
  } else {
    env_.post(Lane::kStore, std::move(job));
  }
}

void Committer::write(Batch& batch) {
  const Result<void> result = store_.apply(batch.ops);
  if (!result && batch.ops.size() > 1 && is_about_one(result.error().code)) {
    for (store::Op& op : batch.ops) {
      batch.results.push_back(store_.apply({&op, 1}));
    }
    return;
  }
  batch.results.assign(batch.ops.size(), result);
}

void Committer::finish(std::unique_ptr<Batch> batch) {
  in_flight_ = false;
  if (pending_->ops.size() * 2 >= kPipelineFrom) {
    flush(false);  // The store has something to do while these runs go on.
  }
  for (std::size_t i = 0; i < batch->ops.size(); ++i) {
    batch->dones[i](std::move(batch->results[i]), batch->ops[i]);
  }
  flush(true);
  batch->clear();
  if (batch->ops.capacity() <= kSpareMax) {
    spare_ = std::move(batch);
  }
}

}  // namespace pawl::engine
