import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, type Repository } from 'typeorm';
import { WorkspacePurge } from '../workspaces/index.js';
import { QueuedFile } from './queued-file.entity.js';

const BATCH = 1_000;

/** Removes the queue of a deleted workspace in bounded batches. */
@Injectable()
export class QueuePurge {
  constructor(@InjectRepository(QueuedFile) queue: Repository<QueuedFile>, purge: WorkspacePurge) {
    purge.addStep(async (workspaceId) => {
      const some = await queue.find({ select: { fileId: true }, where: { workspaceId }, take: BATCH });
      if (some.length === 0) return 0;
      const { affected } = await queue.delete({ workspaceId, fileId: In(some.map(({ fileId }) => fileId)) });
      return affected ?? 0;
    });
  }
}
