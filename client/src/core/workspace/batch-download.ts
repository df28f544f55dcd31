import type { Session } from '../api/index.js';
import { ApiError, chunksIn, collect, InvalidAnswer, NetworkError } from '../http/index.js';
import { halves, isTooMuch, isWithoutBatches } from './batch-errors.js';
import { type CborMap, cborMaps } from './cbor-maps.js';
import { type Download, type DownloadOutcome, type Outcome, outcomeOf } from './download-maps.js';
import { batchesOf, inLanes } from './lanes.js';
import type { Log } from './log.js';
import { endingAsFailed, type Failed, failureOf } from './outcomes.js';
import { Pace } from './pace.js';
import type { OpenedDownload, Transfers } from './transfers.js';

export interface DownloadManyOptions {
  readonly signal?: AbortSignal | undefined;
  /** Larger contents are left to the caller, as `large`. 32 MiB by default. */
  readonly largeBytes?: number;
}

/** The result of opening one content. Its chunks end with DownloadFailed for an error of this content alone. */
export type OpenOutcome =
  { readonly kind: 'opened'; readonly opened: OpenedDownload } | { readonly kind: 'missing' } | Failed;

/** Larger contents are downloaded one by one. */
const MOST_ITEM_BYTES = 1024 * 1024;
const MOST_MAP_BYTES = MOST_ITEM_BYTES + 16 * 1024;
const MOST_ITEMS = 1_000;
const LARGE_BYTES = 32 * 1024 * 1024;

/** Downloads many files, in batches if the service supports them. */
export class BatchDownloads {
  private readonly pace = new Pace();
  private isWithout = false;

  constructor(
    private readonly session: Session,
    private readonly id: string,
    private readonly transfers: Transfers,
    private readonly log: Log,
  ) {}

  /** @throws errors that are not about a single item: no access, no network */
  async *run<D extends Download>(
    downloads: Iterable<D> | AsyncIterable<D>,
    options: DownloadManyOptions = {},
  ): AsyncGenerator<DownloadOutcome<D>, void> {
    const limits = (): { items: number; bytes: number } => ({ items: MOST_ITEMS, bytes: this.pace.bytes });
    const batches = batchesOf(downloads, ({ encryptedSize }) => encryptedSize, limits);
    const work = async (batch: readonly D[]): Promise<DownloadOutcome<D>[]> => {
      const outcomes = new Map<D, Outcome>();
      await this.fetchAll(batch, outcomes, options);
      return [...outcomes].map(([download, outcome]) => ({ download, outcome }));
    };
    yield* inLanes(batches, () => this.pace.lanes, work);
  }

  private async fetchAll<D extends Download>(
    batch: readonly D[],
    outcomes: Map<D, Outcome>,
    options: DownloadManyOptions,
  ): Promise<void> {
    let together = batch.filter(({ encryptedSize }) => encryptedSize <= MOST_ITEM_BYTES);
    while (!this.isWithout && together.length > 1) {
      const before = outcomes.size;
      const rest = await this.fetchTogether(together, outcomes, options.signal);
      together = rest.filter((one) => !outcomes.has(one));
      if (outcomes.size > before) continue; // the answer was cut off: ask for the rest
      const [one, other] = halves(together);
      if (one.length === 1 || rest.length < 2) break;
      await this.fetchAll(one, outcomes, options);
      together = other;
    }
    for (const one of batch) if (!outcomes.has(one)) outcomes.set(one, await this.fetchAlone(one, options));
  }

  /** @returns the items to request again in one batch */
  private async fetchTogether<D extends Download>(
    batch: readonly D[],
    outcomes: Map<D, Outcome>,
    signal?: AbortSignal,
  ): Promise<readonly D[]> {
    const begin = this.pace.now();
    let [bytes, answered, lastContent] = [0, 0, -1];
    try {
      for await (const map of await this.maps(batch, signal)) {
        const asked = batch[answered];
        if (!asked) break; // more than were requested
        const outcome = await outcomeOf(asked, map);
        if (outcome) outcomes.set(asked, outcome);
        if (outcome?.kind === 'content') [bytes, lastContent] = [bytes + outcome.content.length, answered];
        answered++;
      }
      this.pace.took(bytes, this.pace.now() - begin);
    } catch (error) {
      if (error instanceof InvalidAnswer) return [];
      if (isWithoutBatches(error)) this.isWithout = true;
      else if (isTooMuch(error)) this.pace.tooMuch();
      else throw error;
      if (!(error instanceof ApiError) || this.isWithout) await this.log.status(signal); // is the workspace gone, or the network?
      return batch.slice(answered);
    }
    // Items before the last content were not left out for lack of room: they are requested one by one.
    return batch.slice(lastContent + 1);
  }

  /** Opens one content as a stream. @throws as `run` */
  async open(encryptedPath: string, signal?: AbortSignal): Promise<OpenOutcome> {
    try {
      const opened = await this.transfers.open(encryptedPath, undefined, signal);
      const probe = (): Promise<unknown> => this.log.status(signal);
      return { kind: 'opened', opened: { ...opened, chunks: endingAsFailed(opened.chunks, probe) } };
    } catch (error) {
      return this.refusalOf(error, signal);
    }
  }

  private async fetchAlone(
    { encryptedPath, encryptedSize, have }: Download,
    { signal, largeBytes = LARGE_BYTES }: DownloadManyOptions,
  ): Promise<Outcome> {
    if (encryptedSize > largeBytes) return { kind: 'large' };
    try {
      const opened = await this.transfers.open(encryptedPath, undefined, signal);
      const isSame = opened.contentHash === have;
      if (isSame || opened.encryptedSize > largeBytes) {
        opened.cancel();
        return isSame ? { kind: 'unchanged' } : { kind: 'large' };
      }
      const content = await collect(opened.chunks);
      return { kind: 'content', contentHash: opened.contentHash, content };
    } catch (error) {
      return this.refusalOf(error, signal);
    }
  }

  private async refusalOf(
    error: unknown,
    signal?: AbortSignal,
  ): Promise<{ readonly kind: 'missing' } | Failed> {
    if (error instanceof ApiError && error.status === 404) {
      await this.log.status(signal); // throws when it is the workspace that does not exist
      return { kind: 'missing' };
    }
    return failureOf(error, () => this.log.status(signal));
  }

  private async maps(batch: readonly Download[], signal?: AbortSignal): Promise<AsyncIterable<CborMap>> {
    const items = batch.map(({ encryptedPath, have }) => ({ encryptedPath, contentHash: have }));
    const answer = await this.session.send({
      method: 'POST',
      path: `/api/v1/workspaces/${this.id}/files/batch-download`,
      attempts: 2,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ items }),
      streams: true,
      signal,
    });
    if (!answer.body) throw new NetworkError('the answer has no body');
    return cborMaps(chunksIn(answer.body), MOST_MAP_BYTES);
  }
}
