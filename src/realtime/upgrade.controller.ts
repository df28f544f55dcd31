import { Controller, Get } from '@nestjs/common';
import { OwnedWorkspace, Scopes } from '../access/index.js';
import { UpgradeRequired } from '../platform/http/index.js';
import { Documented } from '../api-docs/index.js';
import { UPGRADE_DOCS } from './realtime.docs.js';

/** The live room's address, asked for as if it were a page. The upgrade itself never comes here. */
@Controller('api/v1/workspaces/:id/ws')
@Documented(UPGRADE_DOCS)
export class UpgradeController {
  /** @throws UpgradeRequired always */
  @Get()
  @Scopes('documents:read')
  @OwnedWorkspace()
  get(): never {
    throw new UpgradeRequired();
  }
}
