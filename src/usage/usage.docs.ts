import { STORAGE_USAGE } from '../assets/index.js';
import { arrayOf, COUNT, json, named, objectOf, UUID } from '../api-docs/index.js';
import type { DocumentUsageWire, UsageWire, WorkspaceUsageWire } from './usage.wire.js';

const WORKSPACE = named(
  'WorkspaceUsage',
  objectOf<WorkspaceUsageWire>({ id: UUID, usedBytes: COUNT, files: COUNT }),
);

const DOCUMENTS = named(
  'DocumentUsage',
  objectOf<DocumentUsageWire>({
    usedBytes: COUNT,
    quotaBytes: { ...COUNT, description: '0: unlimited.' },
    workspaces: arrayOf(WORKSPACE),
  }),
);

export const USAGE_DOCS = {
  tag: 'Usage',
  operations: {
    get: {
      summary: 'What the account takes up, and what it may',
      description:
        'Of documents: the bytes of all versions that are kept, each blob once. `files` are live ones. A token that is ' +
        'bound to a workspace sees that one alone, and the sums of the account.',
      answers: {
        200: json(
          'documents by workspace, and assets',
          objectOf<UsageWire>({ documents: DOCUMENTS, assets: STORAGE_USAGE }),
        ),
      },
    },
  },
} as const;
