import type { Pool } from 'pg';
import { AmbiguousCommit, nodeOfInternalError } from '../database-errors.js';

const LOOK_AGAIN_MS = 1_000;

/**
 * The engine's messages when it cannot connect to a node or has lost it, with the address. The engine never translates them, whatever
 * `lc_messages` is. The reason that follows comes from the system or from the node, in any language.
 */
const UNREACHABLE = [
  /^connection to the remote node (?:\S*@)?(\S+:\d+) failed/,
  /^could not establish any connections to the node (\S+:\d+) after \d+ ms/,
  /^connection establishment for node (\S+:\d+) failed/,
  /^failure on connection marked as essential: (\S+:\d+)/,
];

/** The node, as `host:port`, that the engine could not reach, if that is what an error of the coordinator says. */
export function nodeNamedIn(error: Error): string | undefined {
  for (const said of UNREACHABLE) {
    const node = said.exec(error.message)?.[1];
    if (node !== undefined) return node;
  }
  return nodeOfInternalError(error);
}

/** No row when the engine has another node or address in its place. */
const CHECK = `
  SELECT citus_check_connection_to_node(nodename, nodeport) AS answers FROM pg_dist_node
  WHERE nodename = $1 AND nodeport = $2::int`;

/**
 * The nodes that the coordinator cannot reach. What concerns them is refused at once, instead of waiting for them on a connection
 * that others need. Nothing is changed in the engine: each instance knows for itself, and looks until the node answers.
 */
export class AwayNodes {
  private readonly nodes = new Set<string>();
  private readonly timers = new Set<NodeJS.Timeout>();
  private isStopped = false;

  /**
   * @param coordinator its pool
   * @param onChange called when a node goes away, and when it comes back or is no longer one
   * @param everyMs how often it looks for a node that is away
   */
  constructor(
    private readonly coordinator: Pool,
    private readonly onChange: (node: string, isAway: boolean) => void,
    private readonly everyMs = LOOK_AGAIN_MS,
  ) {}

  get isAny(): boolean {
    return this.nodes.size > 0;
  }

  /** @param node `host:port` */
  has(node: string): boolean {
    return this.nodes.has(node);
  }

  /** @param error of a statement that went through the coordinator */
  note(error: unknown): void {
    const said = error instanceof AmbiguousCommit ? error.cause : error;
    const node = said instanceof Error ? nodeNamedIn(said) : undefined;
    // Refused at once, because one that is silent would hold connections; a false alarm ends with the first look.
    if (node !== undefined && this.add(node)) void this.look(node);
  }

  /** Whether a node is away, by what the coordinator says now. False while that does not answer. */
  async isAway(node: string): Promise<boolean> {
    if (this.nodes.has(node)) return true;
    if (await this.answers(node).catch(() => true)) return false;
    if (this.add(node)) this.lookSoon(node);
    return true;
  }

  private add(node: string): boolean {
    if (this.isStopped || this.nodes.has(node)) return false;
    this.nodes.add(node);
    this.onChange(node, true);
    return true;
  }

  stop(): void {
    this.isStopped = true;
    for (const timer of this.timers) clearTimeout(timer);
  }

  private lookSoon(node: string): void {
    if (this.isStopped) return;
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      void this.look(node);
    }, this.everyMs);
    this.timers.add(timer);
  }

  private async look(node: string): Promise<void> {
    // When this fails, the coordinator is away as well, or does not answer in time.
    if (await this.answers(node).catch(() => false)) {
      this.nodes.delete(node);
      this.onChange(node, false);
    } else this.lookSoon(node);
  }

  /** Also true for a node that the engine no longer has. */
  private async answers(node: string): Promise<boolean> {
    const end = node.lastIndexOf(':');
    const values = [node.slice(0, end), node.slice(end + 1)];
    const { rows } = await this.coordinator.query<{ answers: boolean }>(CHECK, values);
    return !rows.some(({ answers }) => !answers);
  }
}
