import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Outbound } from './outbound.js';

@Global()
@Module({})
export class OutboundModule {
  static with(outbound: Outbound): DynamicModule {
    return {
      module: OutboundModule,
      providers: [{ provide: Outbound, useValue: outbound }],
      exports: [Outbound],
    };
  }
}
