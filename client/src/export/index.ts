export { BrokenExport, type Manifest, verified } from './archive.js';
export { Decrypted, decryptWorkspace } from './decrypt.js';
export { ExportOutput } from './output.js';
export { exportSecret, type ExportSecret, keysOf, tellsSecrets } from './unlock.js';
export { type ExportedWorkspace, workspacesIn } from './workspace.js';
