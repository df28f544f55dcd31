import { UPLOAD_FUNCTIONS } from '../../../src/domain/files/index.js';
import { DISTRIBUTED_TABLES, knownStatements } from '../../../src/platform/database/index.js';
import { filled, statement, withOwnNames } from '../../../src/platform/database/statement.js';
import { startService, type TestService } from '../../kit/index.js';

const TABLES = DISTRIBUTED_TABLES.map(({ table }) => table).join('|');
/** A table of workspaces, or a function that writes them, by its plain name instead of braces. */
const OWN_NAME = new RegExp(
  `\\b(?:(?:FROM|JOIN|UPDATE|INTO|ONLY|,)\\s+(?:${TABLES})|put_documents(?:_of_many)?\\s*\\()`,
  'g',
);
const ownNamesIn = (template: string): string[] => template.match(OWN_NAME) ?? [];

let service: TestService;
beforeAll(async () => {
  service = await startService(); // its modules define all statements
});
afterAll(() => service.close());

describe('the braces of a statement', () => {
  it.each([
    ['SELECT 1 FROM {files} f JOIN {blobs} b ON true', 'SELECT 1 FROM files_7 f JOIN blobs_7 b ON true'],
    ["SELECT '{}'::text[], '{1,2}', f.versions, x.{", "SELECT '{}'::text[], '{1,2}', f.versions, x.{"],
    ['UPDATE {files} SET a = $1 WHERE files.b', 'UPDATE files_7 SET a = $1 WHERE files.b'],
  ])('are filled, and nothing else changes: %s', (template, expected) => {
    expect(filled(template, (name) => `${name}_7`)).toBe(expected);
  });

  it('are filled with the names of the schema on one server', () => {
    const { text, onNodes, template } = statement('test.braces', 'SELECT FROM {files}', {
      onNodes: 'SELECT FROM {files} f',
    });
    expect([text, onNodes, template]).toEqual([
      'SELECT FROM files',
      'SELECT FROM files f',
      'SELECT FROM {files} f',
    ]);
  });

  it('contain every table of workspaces in every statement', () => {
    expect(ownNamesIn('SELECT FROM files, {blobs}')).toHaveLength(1);
    const own = knownStatements().filter(({ name }) => !name.startsWith('test.'));
    expect(own.filter(({ isOfWorkspace }) => isOfWorkspace).length).toBeGreaterThan(10);
    // Any statement may run in a transaction on the node of a workspace.
    const found = own.filter(({ template }) => ownNamesIn(template).length > 0);
    expect(found.map(({ name }) => name)).toEqual([]);
  });

  it('contain every table in the upload functions too, which begin by holding their shard', () => {
    const { template } = UPLOAD_FUNCTIONS;
    expect(ownNamesIn(template)).toEqual([]);
    const bodies = template.split(/^CREATE OR REPLACE FUNCTION /m).slice(1);
    expect(bodies.map((body) => [body.split('(')[0], /^BEGIN\n\s*(.*)$/m.exec(body)?.[1]])).toEqual([
      ['{put_documents_of_many}', '{hold_shard}'],
      ['{put_documents}', '{hold_shard}'],
    ]);
    expect(withOwnNames(template)).toContain('UPDATE workspaces w');
  });
});
