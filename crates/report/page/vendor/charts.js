// What of Apache ECharts the figures need: `cargo xtask charts` puts it into one file.
export { getInstanceByDom, init, version } from "echarts/core";
import { use } from "echarts/core";
import { BarChart, CustomChart, LineChart, ScatterChart } from "echarts/charts";
import {
  AriaComponent, DataZoomComponent, GridComponent, LegendPlainComponent, MarkLineComponent, TitleComponent, TooltipComponent,
} from "echarts/components";
import { SVGRenderer } from "echarts/renderers";

use([
  AriaComponent, BarChart, CustomChart, DataZoomComponent, GridComponent, LegendPlainComponent, LineChart, MarkLineComponent,
  SVGRenderer, ScatterChart, TitleComponent, TooltipComponent,
]);
