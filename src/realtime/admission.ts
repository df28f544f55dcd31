import type { Principal } from '../access/index.js';

/** Who may come in, and where. */
export interface Admission {
  readonly principal: Principal;
  readonly workspaceId: string;
  /** As clients are counted by it. */
  readonly addressKey: string;
  /** What the workspace's assets were at before the 101: whoever has seen that is told of every later change. */
  readonly assetsRevision: number;
}
