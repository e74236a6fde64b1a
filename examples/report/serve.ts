import { ReportService } from './report-service.ts';

/** Beside an agent in another terminal: `REPORT_SERVICE` of the agent's process is this address. */
const pace = Number(process.env.REPORT_PACE || 500);
const service = new ReportService({ pace, port: Number(process.env.REPORT_PORT || 8077), log: console.log });
console.log(`reports are counted at ${await service.open()}, ${pace} ms a day; Ctrl-C ends it`);
