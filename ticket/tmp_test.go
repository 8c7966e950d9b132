package ticket
import ("testing";"os";"fmt";"path/filepath";"encoding/json")
func TestTmp(t *testing.T){
 for _, f := range filepath.SplitList(os.Getenv("T")) {
  b,_:=os.ReadFile(f)
  tk, ds := Parse(f,b,Options{})
  d, ds2 := Build(tk,BuildOptions{})
  for _,x:=range append(ds,ds2...) { fmt.Println(x.String()); if x.Detail!="" {fmt.Println("      ",x.Detail)} }
  if os.Getenv("V")!="" { j,_:=json.MarshalIndent(tk,""," "); fmt.Println(string(j)) }
  if d!=nil { for _,n:=range d.Nodes { fmt.Printf("%d %s | %s | %v | g=%v done=%v cmd=%q files=%v\n",n.Line,n.ID,n.Title,n.DependsOn,n.Group,n.Done,n.Command,n.Files)}; fmt.Println(d.Waves(), d.NextNode(), d.ManifestHash()) }
 }
}
