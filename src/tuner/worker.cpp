#include "tuner/worker.h"

#include <utility>

#include "support/text.h"

namespace gemmsmith {

Status Worker::start(const OpenRequest& request, double seconds) {
  if (link_) return Done{};
  GS_TRY(link_, launcher_->launch());
  ++life_;
  kept_.clear();
  death_.reset();
  const uint64_t asked = ask(FrameKind::open, print(request));
  const Answer answer = wait(asked, clock_->seconds() + seconds);
  if (!answer.frame) {
    end(WorkerDeath::Cause::hung);
    death_->waited_seconds = seconds;
    return Error{"worker", launcher_->name(), "ended while it opened the device: " + death_->text({}), {}, {}};
  }
  if (answer.frame->kind != FrameKind::done) {
    const Error error = parse_error(answer.frame->text);
    link_.reset();
    return error;
  }
  auto opened = parse_opened(answer.frame->text);
  if (opened.ok() && opened->protocol != kProtocolVersion)
    opened = Error{"worker", concat("protocol ", opened->protocol), concat("is not ", kProtocolVersion), {}, {}};
  if (!opened.ok()) {
    link_.reset();
    return std::move(opened).error();
  }
  opened_ = *std::move(opened);
  return Done{};
}

uint64_t Worker::ask(FrameKind kind, std::string text, int file) {
  ++last_request_;
  if (link_) (void)link_->send({kind, last_request_, std::move(text)}, file);
  return last_request_;
}

Worker::Answer Worker::wait(uint64_t request, double deadline_seconds) {
  for (;;) {
    if (auto kept = kept_.extract(request)) return {std::move(kept.mapped()), false};
    if (!link_) return {std::nullopt, true};
    WorkerLink::Received received = link_->receive(deadline_seconds);
    if (!received.frame) return {std::nullopt, received.over};
    kept_[received.frame->request] = *std::move(received.frame);
  }
}

WorkerDeath Worker::end(WorkerDeath::Cause cause) {
  if (!link_) return death_.value_or(WorkerDeath{});
  cpu_seconds_ += link_->cpu_seconds();
  death_ = link_->end(cause);
  link_.reset();
  return *death_;
}

}  // namespace gemmsmith
