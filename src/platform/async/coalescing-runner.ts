/**
 * Runs the same work one at a time, and at most once more for any number of calls during a run. A call resolves after a run
 * that started after the call, so that run has seen everything that was true before the call.
 */
export class CoalescingRunner {
  private running: Promise<void> | undefined;
  private next: Promise<void> | undefined;

  constructor(private readonly work: () => Promise<void>) {}

  /** Whether no run is active or pending. */
  get isIdle(): boolean {
    return !this.running && !this.next;
  }

  run(): Promise<void> {
    if (this.next) return this.next;
    if (!this.running) return this.start();
    this.next = this.running.then(
      () => this.start(),
      () => this.start(),
    );
    return this.next;
  }

  private start(): Promise<void> {
    this.next = undefined;
    const run = this.work().finally(() => {
      if (this.running === run) this.running = undefined;
    });
    this.running = run;
    return run;
  }
}
