import { readFileSync } from 'node:fs';
import type { StoredFunctions } from '../../platform/database/index.js';

/** Builds copy the file beside the code: nest-cli.json and scripts/bundle.mjs. */
export const UPLOAD_FUNCTIONS: StoredFunctions = {
  main: 'put_documents',
  template: readFileSync(new URL('./put-documents.sql', import.meta.url), 'utf8'),
};
