#include "engine/thread_environment.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <limits>

namespace pawl::engine {

namespace {

constexpr std::int64_t kMachineClock = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kNoAlarm = std::numeric_limits<std::int64_t>::max();
// Longest sleep of the timekeeper: a wall clock may be set while it sleeps.
constexpr std::int64_t kSleepMsMax = 3'600'000;
// A hundred years: what the standard library can add to a time in nanoseconds.
constexpr std::int64_t kWaitMsMax = 36'500LL * 86'400'000;
// Always there besides the threads that activities can take: two for the serial lanes to go on,
// and one for long reads.
constexpr std::size_t kSpareThreads = 3;

// Activities that a job of a strand starts are put into the queue by so many.
constexpr std::size_t kOutboxMax = 16;
// Tries to get the lock before going to sleep for it: it is held for a few hundred nanoseconds.
constexpr int kSpins = 100;

// Activities that wait for so long while others run get threads of their own.
constexpr std::chrono::milliseconds kSlow{1};

// Since the machine has started, times when it was suspended included.
std::int64_t up_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

// One is left to the loop and the store.
std::size_t processors_for_activities() {
  static const std::size_t count = std::max(2U, std::thread::hardware_concurrency()) - 1;
  return count;
}

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

struct ThreadEnvironment::Outbox {
  ThreadEnvironment* owner = nullptr;  // None: this thread is not of a pool.
  bool keeps_time = false;
  bool in_strand = false;
  bool more_in_batch = false;  // In a job of a strand: another one of its batch follows.
  std::vector<Job> activities;
  Lane next_lane{};
  Job next;  // To be run after this one.
};

ThreadEnvironment::Outbox& ThreadEnvironment::outbox() {
  thread_local Outbox of_this_thread;
  return of_this_thread;
}

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
      clock_offset_ms_(kMachineClock),
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
    const std::unique_lock<std::mutex> held = lock();
    ending_ = true;
    work_.notify_all();
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

std::int64_t ThreadEnvironment::now_ms() {
  const std::int64_t offset_ms = clock_offset_ms_.load(std::memory_order_relaxed);
  if (offset_ms != kMachineClock) {
    return up_ms() + offset_ms;
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void ThreadEnvironment::set_clock(std::int64_t now_ms) {
  const std::lock_guard<std::mutex> lock(alarm_mutex_);
  clock_offset_ms_ = now_ms - up_ms();
  alarm_changed_.notify_all();
}

std::uint64_t ThreadEnvironment::random() {
  const std::lock_guard<std::mutex> lock(random_mutex_);
  return random_();
}

std::unique_lock<std::mutex> ThreadEnvironment::lock() {
  for (int i = 0; i < kSpins; ++i) {
    if (mutex_.try_lock()) {
      return {mutex_, std::adopt_lock};
    }
    relax();
  }
  return std::unique_lock<std::mutex>(mutex_);
}

void ThreadEnvironment::post(Lane lane, Job job) {
  Outbox& own = outbox();
  if (lane != Lane::kActivity || own.owner != this || !own.in_strand) {
    add(lane, std::move(job));
    return;
  }
  own.activities.push_back(std::move(job));
  if (own.activities.size() >= kOutboxMax) {
    std::unique_lock<std::mutex> held = lock();
    flush(own);
    unlock_and_wake(held);
  }
}

void ThreadEnvironment::hand_over(Lane lane, Job job) {
  Outbox& own = outbox();
  if (own.owner != this || own.more_in_batch || own.next) {
    add(lane, std::move(job));
    return;
  }
  own.next_lane = lane;
  own.next = std::move(job);
}

void ThreadEnvironment::add(Lane lane, Job job) {
  std::unique_lock<std::mutex> held = lock();
  if (Outbox& own = outbox(); own.owner == this && own.next && own.next_lane == lane) {
    flush(own);  // In order.
  }
  put(lane, std::move(job));
  unlock_and_wake(held);
}

void ThreadEnvironment::flush(Outbox& from) {
  for (Job& job : from.activities) {
    activities_.push_back(std::move(job));
  }
  from.activities.clear();
  if (from.next) {
    put(from.next_lane, std::exchange(from.next, nullptr));
  }
}

void ThreadEnvironment::put(Lane lane, Job job) {
  if (lane == Lane::kActivity) {
    activities_.push_back(std::move(job));
    return;
  }
  Strand& strand = strands_[static_cast<std::size_t>(lane)];
  strand.jobs.push_back(std::move(job));
  if (!strand.scheduled) {  // Else whoever runs it comes to this job, too.
    strand.scheduled = true;
    ready_.push_back(static_cast<std::size_t>(lane));
  }
}

// At most one thread is on its way at a time: it wakes the next if there is more to do. It is told
// when the lock is free, or it would wait for that at once.
void ThreadEnvironment::unlock_and_wake(std::unique_lock<std::mutex>& held) {
  bool tells_one = false;
  bool asks_to_look = false;
  if (waking_ == 0 && has_ready()) {
    if (!may_wake()) {
      asks_to_look = !std::exchange(is_watched_, true);
      taken_before_ = asks_to_look ? taken_ : taken_before_;
    } else if (idle_ > 0) {
      ++waking_;
      tells_one = true;
    } else if (threads_.size() < options_.activities + kSpareThreads && !ending_) {
      threads_.emplace_back([this] { work(); });  // If it throws, the next call tries again.
      ++waking_;
    }
  }
  held.unlock();
  if (tells_one) {
    work_.notify_one();
  }
  if (asks_to_look && outbox().keeps_time) {
    is_looking_ = true;  // It holds the lock of the alarm.
  } else if (asks_to_look) {
    const std::lock_guard<std::mutex> held_alarm(alarm_mutex_);
    is_looking_ = true;
    alarm_changed_.notify_one();
  }
}

bool ThreadEnvironment::may_wake() const {
  return !ready_.empty() || is_slow_ || running_activities_ < processors_for_activities();
}

// For the timekeeper: true if it is to look again.
bool ThreadEnvironment::is_activity_late() {
  std::unique_lock<std::mutex> held = lock();
  if (activities_.empty()) {
    is_watched_ = false;
    return false;
  }
  if (taken_ != std::exchange(taken_before_, taken_)) {
    return true;
  }
  is_slow_ = true;
  is_watched_ = false;
  unlock_and_wake(held);
  return false;
}

bool ThreadEnvironment::has_ready() const {
  return !ready_.empty() || (!activities_.empty() && running_activities_ < options_.activities);
}

void ThreadEnvironment::work() {
  Outbox& own = outbox();
  own.owner = this;
  std::unique_lock<std::mutex> held = lock();
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
      run_strand(held, strand);
    } else if (has_ready()) {
      Job job = std::move(activities_.front());
      activities_.pop_front();
      is_slow_ = is_slow_ && !activities_.empty();
      ++taken_;
      ++running_activities_;
      unlock_and_wake(held);
      job();
      job = nullptr;
      held = lock();
      --running_activities_;
      flush(own);
    } else if (ending_) {
      work_.notify_all();
      return;
    } else {
      ++idle_;
      work_.wait(held, [this] { return waking_ > 0 || ending_; });
      --idle_;
      has_come();
    }
  }
}

void ThreadEnvironment::run_strand(std::unique_lock<std::mutex>& held, Strand& strand) {
  // Other strands and activities get their turn after what was there when this one began.
  strand.batch.swap(strand.jobs);
  unlock_and_wake(held);
  Outbox& own = outbox();
  own.in_strand = true;
  for (std::size_t i = 0; i < strand.batch.size(); ++i) {
    Job job = std::move(strand.batch[i]);
    own.more_in_batch = i + 1 < strand.batch.size();
    job();
    if (own.more_in_batch && !own.activities.empty()) {
      // The next one may take long.
      held = lock();
      flush(own);
      unlock_and_wake(held);
    }
  }
  own.more_in_batch = false;
  own.in_strand = false;
  strand.batch.clear();
  held = lock();
  flush(own);
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
  outbox().keeps_time = true;
  std::unique_lock<std::mutex> lock(alarm_mutex_);
  while (!alarm_ending_) {
    const std::int64_t now = now_ms();
    if (alarm_ms_ <= now) {
      alarm_ms_ = kNoAlarm;
      post(Lane::kLoop, std::move(alarm_job_));  // Under the lock: once replaced, it never comes.
      continue;
    }
    sleeping_until_ms_ = alarm_ms_;
    if (is_looking_) {
      alarm_changed_.wait_for(lock, kSlow);
      is_looking_ = is_activity_late();
    } else if (alarm_ms_ == kNoAlarm) {
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
