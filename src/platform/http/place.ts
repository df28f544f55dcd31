/** What a request takes of a shared total while there is something to do for it, and gives back while its client is silent. */
export interface Place {
  /**
   * Takes it, or keeps it, for this many more bytes. If it returns a promise, nothing may be done before that resolves.
   * @throws when there is none, and so does the promise
   */
  work(bytes: number): Promise<void> | undefined;
  /** Gives it back. Never while `work` waits. */
  rest(): void;
}

/** Both, in this order. */
export const placesOf = (first: Place, second: Place): Place => ({
  work: (bytes) => {
    const taken = first.work(bytes);
    return taken ? taken.then(() => second.work(bytes)) : second.work(bytes);
  },
  rest: () => {
    second.rest();
    first.rest();
  },
});

/** A slot of a queue as a place. What else the request does meanwhile keeps the slot: `during`. Call `rest` at last. */
export class WorkSlot implements Place {
  private users = 0;
  private isAtWork = false;
  private taken: Promise<() => void> | undefined;

  /** @param take resolves with what releases the slot */
  constructor(private readonly take: () => Promise<() => void>) {}

  work(): Promise<void> | undefined {
    if (this.isAtWork) return undefined;
    this.isAtWork = true;
    return this.enter().catch((error: unknown) => {
      this.isAtWork = false;
      throw error;
    });
  }

  rest(): void {
    if (!this.isAtWork) return;
    this.isAtWork = false;
    this.leave();
  }

  /** @throws as `take`, and the errors of `use` */
  async during<T>(use: () => Promise<T>): Promise<T> {
    await this.enter();
    try {
      return await use();
    } finally {
      this.leave();
    }
  }

  private async enter(): Promise<void> {
    this.users++;
    this.taken ??= this.take();
    try {
      await this.taken;
    } catch (error) {
      this.leave();
      throw error;
    }
  }

  private leave(): void {
    if (--this.users > 0) return;
    const { taken } = this;
    this.taken = undefined;
    void taken?.then(
      (release) => release(),
      () => undefined,
    );
  }
}
