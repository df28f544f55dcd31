import type { Pool } from 'pg';

const LOOK_AGAIN_MS = 1_000;

/** What the engine says when it cannot connect to a node, with its address. */
const UNREACHABLE = /connection to the remote node (?:\S*@)?(\S+:\d+) failed/;

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
    const [, node] = (error instanceof Error && UNREACHABLE.exec(error.message)) || [];
    if (node === undefined || this.isStopped || this.nodes.has(node)) return;
    this.nodes.add(node);
    this.onChange(node, true);
    this.lookSoon(node);
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
    const end = node.lastIndexOf(':');
    try {
      const values = [node.slice(0, end), node.slice(end + 1)];
      const { rows } = await this.coordinator.query<{ answers: boolean }>(CHECK, values);
      if (!rows.some(({ answers }) => !answers)) {
        this.nodes.delete(node);
        this.onChange(node, false);
        return;
      }
    } catch {
      // The coordinator is away as well, or does not answer in time.
    }
    this.lookSoon(node);
  }
}
