import { IsNull, MoreThan, type Repository } from 'typeorm';
import { BEFORE_ALL_IDS, pagesById } from '../../platform/database/index.js';
import type { WorkspaceEntity } from './workspace.entity.js';

const PAGE = 1_000;

/** Yields the id of every workspace that is not deleted, in ascending order and bounded memory. */
export async function* liveWorkspaceIds(
  workspaces: Repository<WorkspaceEntity>,
): AsyncGenerator<string, void> {
  const page = (above: string): Promise<Pick<WorkspaceEntity, 'id'>[]> =>
    workspaces.find({
      select: { id: true },
      where: { id: MoreThan(above), deletedAt: IsNull() },
      order: { id: 'ASC' },
      take: PAGE,
    });
  for await (const rows of pagesById(BEFORE_ALL_IDS, PAGE, page)) for (const { id } of rows) yield id;
}
