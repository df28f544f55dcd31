import { type Remote, RemoteUnavailable } from '../folder/index.js';

/** Stops a sync when the signal is aborted: completes the request in progress, and fails the next one as without a network. */
export function interruptible(remote: Remote, signal: AbortSignal): Remote {
  const check = (): void => {
    if (signal.aborted) throw new RemoteUnavailable('ended by a signal before everything was done');
  };
  async function* checked<T>(items: AsyncIterable<T>): AsyncGenerator<T, void> {
    for await (const item of items) {
      yield item;
      check();
    }
  }
  const step = <T>(work: () => Promise<T>): Promise<T> => {
    check();
    return work();
  };
  return {
    pull: async (cursor) => step(() => remote.pull(cursor)),
    snapshot: async (pageCursor) => step(() => remote.snapshot(pageCursor)),
    push: async (baseCursor, deletions) => step(() => remote.push(baseCursor, deletions)),
    downloadMany: (items) => (check(), checked(remote.downloadMany(items))),
    openDownload: async (item) => step(() => remote.openDownload(item)),
    uploadMany: (items) => (check(), checked(remote.uploadMany(items))),
  };
}
