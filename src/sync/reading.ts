import { NotFound } from '../platform/http/index.js';

/** Even an empty answer has one row, with the head; none means that the workspace has gone meanwhile. @throws NotFound */
export function one<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new NotFound('workspace not found');
  return row;
}
