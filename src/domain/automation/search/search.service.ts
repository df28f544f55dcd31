import { Injectable } from '@nestjs/common';
import { Clock, inTime } from '../../../platform/clock.js';
import { ServiceUnavailable } from '../../../platform/http/index.js';
import { type FairSemaphore, Queues } from '../../../platform/limits/index.js';
import { ChangeLogReader } from '../../sync/index.js';
import { EventLoopYield } from '../../../platform/async.js';
import { IDLE_MS } from '../automation.queries.js';
import { copyOf, type Vault, wipe } from '../contents.js';
import { IndexFeed } from './index-feed.js';
import { SearchIndexes, type SessionIndex } from './search-indexes.js';
import { eachTerm, isWanted, type TextIndex, type Wanted, wantedTerms } from './text-index.js';

const BEFORE = 60;
const LENGTH = 200;
const CUT = '…';

/** A single-line excerpt of the text around the first wanted term; the start of the text when it contains none. */
function snippetOf(text: string, wanted: readonly Wanted[]): string {
  const hit = firstHit(text, wanted);
  const start = hit <= BEFORE ? 0 : wholeCharacter(text, hit - BEFORE);
  const end = wholeCharacter(text, Math.min(start + LENGTH, text.length));
  const piece = text.slice(start, end).replace(/\s+/g, ' ').trim();
  return `${start > 0 ? CUT : ''}${piece}${end < text.length ? CUT : ''}`;
}

function firstHit(text: string, wanted: readonly Wanted[]): number {
  let hit = 0;
  eachTerm(text, (term, start) => {
    if (!isWanted(term, wanted)) return false;
    hit = start;
    return true;
  });
  return hit;
}

/** Moves `at` back if it would split a surrogate pair. */
function wholeCharacter(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff ? at - 1 : at;
}

/**
 * Each build takes seconds for a large workspace and may use the whole memory budget of the indexes. A client that
 * was told to retry keeps its place in the queue for as long as its session may stay idle.
 */
const LARGE_BUILDS = {
  atOnce: 1,
  waiting: 64,
  perOwner: { atOnce: 1, waiting: 8 },
  waitMs: IDLE_MS,
  busy: 'too many searches are being prepared',
};

/** Indexing this few files takes a fraction of a second and little memory, so it does not wait for large builds. */
const SMALL_WORKSPACE_FILES = 200;
const SMALL_BUILDS = LARGE_BUILDS;

const ASK_AGAIN_AFTER_S = 5;

export interface SearchResult {
  readonly path: string;
  readonly version: number;
  /** Higher is better; not comparable between responses. */
  readonly score: number;
  /** One line around the first hit. */
  readonly snippet: string;
}

/** Full-text search of a workspace, using an in-memory index that lives as long as the key session. */
@Injectable()
export class Search {
  /** Shorter than any timeout on the way: this service itself cuts a connection that is silent for a minute. */
  readonly answerWithinMs: number = 25_000;

  private readonly largeBuilds: FairSemaphore;
  private readonly smallBuilds: FairSemaphore;

  constructor(
    private readonly indexes: SearchIndexes,
    private readonly feed: IndexFeed,
    private readonly clock: Clock,
    private readonly log: ChangeLogReader,
    queues: Queues,
  ) {
    this.largeBuilds = queues.open('search_indexes', LARGE_BUILDS);
    this.smallBuilds = queues.open('small_search_indexes', SMALL_BUILDS);
  }

  /**
   * Returns the notes that currently contain all words of the query, best first.
   * @throws KeySessionRequired, ServiceUnavailable when building the index takes too long; the build continues for a
   * retry
   */
  search(vault: Vault, query: string, limit: number): Promise<SearchResult[]> {
    const index = this.indexes.of(vault);
    let isLate = false;
    const isWanted = (): boolean => !isLate;
    const work = async (): Promise<SearchResult[]> => {
      if (!isWanted()) return [];
      const own = copyOf(vault); // the request may end before the index is built
      try {
        const notes = await this.refreshed(index, own);
        return isWanted() ? await this.found(notes, query, limit) : [];
      } finally {
        wipe(own);
      }
    };
    return inTime(this.answerWithinMs, index.exclusively(work), () => {
      isLate = true;
      return new ServiceUnavailable('the search is still being prepared', ASK_AGAIN_AFTER_S);
    });
  }

  private async found(notes: TextIndex, query: string, limit: number): Promise<SearchResult[]> {
    const wanted = wantedTerms(query);
    const turns = new EventLoopYield(this.clock);
    const results: SearchResult[] = [];
    for (const { note, score } of await notes.search(wanted, limit, turns)) {
      const { path, version, text } = note;
      results.push({ path, version, score, snippet: snippetOf(text, wanted) });
      await turns.pause();
    }
    return results;
  }

  private async refreshed(index: SessionIndex, vault: Vault): Promise<TextIndex> {
    const { ended } = index;
    ended.throwIfAborted();
    const notes = await this.feed.follow(index, vault);
    if (notes) return notes;
    const { fileCount } = await this.log.status(index.workspaceId);
    const builds = fileCount <= SMALL_WORKSPACE_FILES ? this.smallBuilds : this.largeBuilds;
    return builds.during(vault.userId, () => this.feed.build(index, vault), ended);
  }
}
