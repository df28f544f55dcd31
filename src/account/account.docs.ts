import { json, OK } from '../api-docs/index.js';

export const ACCOUNT_DOCS = {
  tag: 'Account',
  operations: {
    delete: {
      summary: 'Delete the account, and all that is its',
      description: 'Workspaces, files, assets, devices and tokens go with it. There is no way back.',
      answers: { 200: json('it is gone', OK) },
    },
  },
} as const;
