#include "engine/thread_environment.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace pawl::engine {

namespace {

constexpr std::int64_t kNoAlarm = std::numeric_limits<std::int64_t>::max();
// Longest sleep of the timekeeper: a wall clock may be set while it sleeps.
constexpr std::int64_t kSleepMsMax = 3'600'000;
// A hundred years: what the standard library can add to a time in nanoseconds.
constexpr std::int64_t kWaitMsMax = 36'500LL * 86'400'000;
// Always there besides the threads that activities can take: two for the serial lanes to go on,
// and one for long reads.
constexpr std::size_t kSpareThreads = 3;

// In a job of a strand: that it is one, and that another one of its batch follows.
thread_local bool in_strand = false;
thread_local bool more_in_batch = false;

}  // namespace

void Latch::set() {
  const std::lock_guard<std::mutex> lock(mutex_);
  set_ = true;
  changed_.notify_all();
}

bool Latch::is_set() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return set_;
}

ThreadEnvironment::ThreadEnvironment(ThreadOptions options)
    : options_(options),
      random_(std::random_device{}()),
      alarm_ms_(kNoAlarm),
      sleeping_until_ms_(kNoAlarm),
      timekeeper_([this] { keep_time(); }) {
  std::random_device device;
  std::seed_seq seed{device(), device(), device(), device(), device(), device()};
  random_.seed(seed);
}

ThreadEnvironment::~ThreadEnvironment() {
  {
    const std::lock_guard<std::mutex> lock(alarm_mutex_);
    alarm_ending_ = true;
    alarm_changed_.notify_all();
  }
  timekeeper_.join();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
    work_.notify_all();
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

std::int64_t ThreadEnvironment::now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::uint64_t ThreadEnvironment::random() {
  const std::lock_guard<std::mutex> lock(random_mutex_);
  return random_();
}

void ThreadEnvironment::post(Lane lane, Job job) { add(lane, std::move(job), false); }

void ThreadEnvironment::hand_over(Lane lane, Job job) { add(lane, std::move(job), !more_in_batch); }

void ThreadEnvironment::add(Lane lane, Job job, bool is_last_act) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool nothing_else = !has_ready();
  if (lane == Lane::kActivity) {
    activities_.push_back(std::move(job));
  } else {
    Strand& strand = strands_[static_cast<std::size_t>(lane)];
    strand.jobs.push_back(std::move(job));
    if (strand.scheduled) {
      return;  // Whoever runs it comes to this job, too.
    }
    strand.scheduled = true;
    ready_.push_back(static_cast<std::size_t>(lane));
  }
  // A lone activity that comes from the end of a batch is left to this thread, which is soon free.
  const bool is_mine = is_last_act || (lane == Lane::kActivity && in_strand && !more_in_batch);
  if (!is_mine || !nothing_else) {
    wake_one();
  }
}

// At most one thread is on its way at a time: it wakes the next if there is more to do.
void ThreadEnvironment::wake_one() {
  if (waking_ > 0 || !has_ready()) {
    return;
  }
  if (idle_ > 0) {
    ++waking_;
    work_.notify_one();
  } else if (threads_.size() < options_.activities + kSpareThreads && !ending_) {
    ++waking_;
    threads_.emplace_back([this] { work(); });
  }
}

bool ThreadEnvironment::has_ready() const {
  return !ready_.empty() || (!activities_.empty() && running_activities_ < options_.activities);
}

void ThreadEnvironment::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto has_come = [this] {
    if (waking_ > 0) {
      --waking_;
    }
  };
  has_come();
  while (true) {
    if (!ready_.empty()) {
      Strand& strand = strands_[ready_.front()];
      ready_.pop_front();
      wake_one();
      run_strand(lock, strand);
    } else if (has_ready()) {
      Job job = std::move(activities_.front());
      activities_.pop_front();
      ++running_activities_;
      wake_one();
      lock.unlock();
      job();
      job = nullptr;
      lock.lock();
      --running_activities_;
    } else if (ending_) {
      work_.notify_all();
      return;
    } else {
      ++idle_;
      work_.wait(lock, [this] { return waking_ > 0 || ending_; });
      --idle_;
      has_come();
    }
  }
}

void ThreadEnvironment::run_strand(std::unique_lock<std::mutex>& lock, Strand& strand) {
  // Other strands and activities get their turn after what was there when this one began.
  std::deque<Job> batch;
  batch.swap(strand.jobs);
  lock.unlock();
  in_strand = true;
  while (!batch.empty()) {
    Job job = std::move(batch.front());
    batch.pop_front();
    more_in_batch = !batch.empty();
    job();
  }
  more_in_batch = false;
  in_strand = false;
  lock.lock();
  if (strand.jobs.empty()) {
    strand.scheduled = false;
  } else {
    ready_.push_back(static_cast<std::size_t>(&strand - strands_.data()));
  }
}

// --- Time ----------------------------------------------------------------------------------------

void ThreadEnvironment::set_alarm(std::int64_t at_ms, Job job) {
  const std::lock_guard<std::mutex> lock(alarm_mutex_);
  alarm_ms_ = at_ms;
  alarm_job_ = std::move(job);
  if (at_ms < sleeping_until_ms_) {
    alarm_changed_.notify_one();
  }
}

void ThreadEnvironment::keep_time() {
  std::unique_lock<std::mutex> lock(alarm_mutex_);
  while (!alarm_ending_) {
    const std::int64_t now = now_ms();
    if (alarm_ms_ <= now) {
      alarm_ms_ = kNoAlarm;
      post(Lane::kLoop, std::move(alarm_job_));  // Under the lock: once replaced, it never comes.
      continue;
    }
    sleeping_until_ms_ = alarm_ms_;
    if (alarm_ms_ == kNoAlarm) {
      alarm_changed_.wait(lock);
    } else {
      alarm_changed_.wait_for(lock,
                              std::chrono::milliseconds(std::min(alarm_ms_ - now, kSleepMsMax)));
    }
    sleeping_until_ms_ = kNoAlarm;
  }
}

bool ThreadEnvironment::wait(Latch& latch, std::int64_t timeout_ms) {
  std::unique_lock<std::mutex> lock(latch.mutex_);
  const auto is_set = [&latch] { return latch.set_; };
  if (timeout_ms < 0) {
    latch.changed_.wait(lock, is_set);
    return true;
  }
  return latch.changed_.wait_for(lock, std::chrono::milliseconds(std::min(timeout_ms, kWaitMsMax)),
                                 is_set);
}

std::shared_ptr<Environment> make_thread_environment(ThreadOptions options) {
  return std::make_shared<ThreadEnvironment>(options);
}

}  // namespace pawl::engine
