import { eventually } from './eventually.js';
import { footprint } from './footprint.js';
import { startService, type TestService, type TestWorkspace } from './index.js';
import { useInTests } from './use-in-tests.js';

export const KIB = 1024;
export const MIB = 1024 * KIB;
export const MAX_FILE_BYTES = 2 * MIB;

export function expectFlat(answer: { status: number; body: unknown }, status: number): void {
  expect(answer.status).toBe(status);
  const body: unknown = typeof answer.body === 'string' ? JSON.parse(answer.body) : answer.body;
  expect(body).toEqual({ error: expect.any(String) });
}

/** Call outside of all tests. A service with a small MAX_FILE_BYTES. */
export function useFileRequests(): FileRequests {
  return useInTests(new FileRequests());
}

export class FileRequests {
  service!: TestService;
  names = 0;

  readonly open = async () => {
    this.service = await startService({ env: { MAX_FILE_BYTES: String(MAX_FILE_BYTES) } });
  };

  readonly close = () => this.service.close();

  /** A workspace of a new user. */
  async workspace(): Promise<TestWorkspace> {
    return (await this.service.user(`files-${++this.names}`)).workspace();
  }

  /** Runs requests that must be refused, and checks that they have left nothing behind. */
  async expectNothingStored(notes: TestWorkspace, refused: () => Promise<void>): Promise<void> {
    const before = await footprint(this.service, notes.id);
    await refused();
    await eventually(async () => expect(await footprint(this.service, notes.id)).toEqual(before));
  }
}
