import { Allow, IsString } from 'class-validator';

/** Ownership is decided before the rest is looked at, so only what it needs is checked here. */
export class SubscribeRequest {
  @IsString()
  workspaceId: string;

  @Allow()
  deviceId?: unknown;

  @Allow()
  endpoint?: unknown;

  @Allow()
  keys?: unknown;
}
