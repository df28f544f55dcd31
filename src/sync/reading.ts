import { NotFound } from '../platform/http/index.js';

/** The one row of a query that always has one; without it the workspace has gone meanwhile. @throws NotFound */
export function requireRow<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new NotFound('workspace not found');
  return row;
}
