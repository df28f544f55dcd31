import { changedTables, checksums } from '../checksums.js';
import { type Credential, CREDENTIALS, type Proof } from './credentials.js';
import type { Cell } from './expectation.js';
import { serving } from './forms.js';
import { type Scene, setScene } from './scene.js';
import { type Answer, hangUp, send } from './send.js';

export type Asked = readonly [name: string, proof: Proof, cells: readonly Cell[]];

/** Call outside of all tests: the scene is set before them, and closed after them. */
export function useScene(): UsedScene {
  const used = new UsedScene();
  beforeAll(() => used.set());
  afterAll(() => used.close());
  return used;
}

/** The scene of a test file, with a proof of each credential. */
export class UsedScene {
  /** How often a new scene is set, which takes seconds; this many holes are enough to see where they are. */
  private newScenes = 20;
  private current: Scene | undefined;
  private readonly proofs = new Map<Credential, Proof>();

  get scene(): Scene {
    return this.current!;
  }

  proofOf(credential: Credential): Proof {
    return this.proofs.get(credential)!;
  }

  async set(): Promise<void> {
    this.current = await setScene();
    for (const credential of CREDENTIALS) this.proofs.set(credential, await credential.proof(this.current));
  }

  async close(): Promise<void> {
    hangUp();
    await this.current?.service.close();
  }

  async ask(cell: Cell, proof: Proof): Promise<[string, number | string]> {
    return [cell.form, verdict(cell, await send(this.scene.service.url, cell.spelling, cell.example, proof))];
  }

  /** Expects the answers, and that no row has changed. */
  async expectNoTrace(asked: readonly Asked[]): Promise<void> {
    const before = await checksums(this.scene.service.database);
    const answers: Record<string, unknown> = {};
    for (const [name, proof, cells] of asked)
      answers[name] = Object.fromEntries(await Promise.all(cells.map((cell) => this.ask(cell, proof))));
    const changed = changedTables(before, await checksums(this.scene.service.database));
    if (changed.length > 0 && this.newScenes-- > 0) {
      // A hole has changed the scene; on a new one the next tests cannot fail because of it.
      await this.close();
      await this.set();
    }
    const wanted = Object.fromEntries(asked.map(([name, , cells]) => [name, expected(cells)]));
    expect({ answers, changed }).toEqual({ answers: wanted, changed: [] });
  }
}

export const expected = (cells: readonly Cell[]): Record<string, number> =>
  Object.fromEntries(cells.map(({ form, status }) => [form, status]));

const FLAT = /^\{"error":"[^"]+"\}$/;

/** The status, together with the problem when the answer has the wrong form. */
function verdict({ spelling }: Pick<Cell, 'spelling'>, { status, headers, body }: Answer): number | string {
  if (status === 401 && headers['www-authenticate'] !== 'Bearer') return '401 without WWW-Authenticate';
  if (status < 400 || spelling.method === 'HEAD') return status;
  const { isPage, looksUnknown } = serving(spelling)?.route ?? {};
  const isInForm = isPage && !looksUnknown ? body.startsWith('<!doctype html>') : FLAT.test(body);
  return isInForm ? status : `${status} ${body}`;
}
