#include "engine/committer.h"

namespace pawl::engine {

namespace {

// So many runs in step are worth being split in two: one half commits while the other one takes its
// turns.
constexpr std::size_t kPipelineFrom = 16;

// True for an error that one operation of a batch can cause for all of them.
bool is_about_one(ErrorCode code) {
  return code == ErrorCode::kLimitExceeded || code == ErrorCode::kInvalidArgument ||
         code == ErrorCode::kCorruptLog || code == ErrorCode::kInvalidState;
}

}  // namespace

bool Committer::are_many() const { return last_batch_ + batch_before_ >= kPipelineFrom; }

// With a little left out: who comes late goes with the other half.
bool Committer::is_half() const {
  if (!full_.empty()) {
    return true;
  }
  const std::size_t in_step = last_batch_ + batch_before_;
  return pending_->ops.size() * 2 + in_step / 8 >= in_step;
}

void Committer::submitted() {
  if (in_flight_) {
    return;
  }
  if (are_many() && is_half()) {
    flush(false);
  } else if (!flush_posted_) {
    // Behind what the loop has to do already, which may add to the batch.
    flush_posted_ = true;
    env_.post(Lane::kLoop, [this] { flush_or_wait(); });
  }
}

// As long as more comes, half of many runs is waited for: on the way over another thread, so that
// it takes as long as it takes others to bring something. The store's lane has nothing to do now;
// others may be taken for long.
void Committer::flush_or_wait() {
  const std::size_t size = pending_->ops.size();
  if (!in_flight_ && are_many() && !is_half() && size > seen_) {
    seen_ = size;
    env_.post(Lane::kStore, [this] { env_.post(Lane::kLoop, [this] { flush_or_wait(); }); });
    return;
  }
  flush_posted_ = false;
  flush(true);
}

void Committer::flush(bool is_last_act) {
  if (in_flight_ || !has_pending()) {
    return;
  }
  in_flight_ = true;
  seen_ = 0;
  ++batches_;
  // It goes from lane to lane, so that what it holds is let go on the loop.
  std::unique_ptr<Batch> batch;
  if (full_.empty()) {
    batch = take_pending();
  } else {
    batch = std::move(full_.front());
    full_.pop_front();
  }
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
  if (are_many() && is_half()) {
    // This thread goes on writing; another one will see to the runs.
    env_.post(Lane::kLoop, [this, batch = std::move(batch)]() mutable { tell(std::move(batch)); });
    flush(true);
    return;
  }
  tell(std::move(batch));
  if (has_pending()) {
    if (are_many()) {
      submitted();
    } else {
      flush(true);
    }
  }
}

void Committer::tell(std::unique_ptr<Batch> batch) {
  for (std::size_t i = 0; i < batch->ops.size(); ++i) {
    batch->dones[i](std::move(batch->results[i]), batch->ops[i]);
  }
  batch->clear();
  spare_ = std::move(batch);
}

}  // namespace pawl::engine
